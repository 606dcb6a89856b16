"""Tables in, counts out: CSV, Parquet and dataframes, read and counted out of core by DuckDB."""
