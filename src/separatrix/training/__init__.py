"""The training loop: it takes steps from a solver, checks the stopping rules and names the end."""
