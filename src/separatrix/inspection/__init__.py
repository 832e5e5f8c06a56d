"""Inspecting a fit: what went wrong, and why."""
