"""Lower bounds on the minimum of J, the duality gap, and exact sums with their rounding."""
