"""Dual solvers: three methods to maximise the dual of J and bound J from below."""
