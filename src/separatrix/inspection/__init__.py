"""Looking at a fit from outside: what went wrong, and why."""
