"""Separability."""
