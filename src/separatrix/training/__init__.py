"""The one loop: it asks a solver for steps, watches them, and says in which word they end."""
