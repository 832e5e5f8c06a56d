"""Rows in parts that the workers of a cluster hold, and the engines that keep them there."""
