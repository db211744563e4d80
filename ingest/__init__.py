"""From caption files to stored talks: `python -m ingest PATH...`."""
