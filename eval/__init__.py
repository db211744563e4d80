"""Measures the chatbot on a set of talks and questions: retrieval, times, citations, refusals, answers, cost.

    questions + talks -> library -> Outcomes -> measures per question -> scores, report, comparison

Start with `eval.types`; `python -m eval --help` lists the commands.
"""
