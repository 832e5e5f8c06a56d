"""Decoded blocks on disk, checked before they are used."""
