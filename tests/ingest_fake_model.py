"""`python -m ingest` with the fake model. The first argument is the largest file in bytes that it can write, 0: any."""

import resource
import sys

import rag.embed
from ingest.__main__ import main
from ingest.language import language_of
from tests.fakes import WordEmbedder

rag.embed.load_embedder = lambda _="": WordEmbedder()

if __name__ == "__main__":
    # The detector unpacks itself into a temporary file, which is not what is to fail.
    language_of(["Quosque tandem"], "")
    if limit := int(sys.argv[1]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.exit(main(sys.argv[2:]))
