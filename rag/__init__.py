"""Ask recorded talks a question and get an answer that cites the exact moment.

Importing the package switches off the telemetry of the libraries it uses, before any of them is imported.
"""

import os

os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")  # chromadb
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # gradio, which else looks up outside hosts at every start
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # it warns, and we batch ourselves

__version__ = "0.1.0"
