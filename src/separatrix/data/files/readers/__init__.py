"""Files, tables and streams as pieces of rows: one reader per format."""
