"""The page, ask on the left, listen and read on the right; and the API for programs.

    page.py      the FastAPI app: Gradio for asking, plain routes for talks, recordings and static files
    api.py       the same library for programs; requests.py, limits.py, problem.py and jobs.py belong to it
    head.py      the page's own title and description
    health.py    whether the process lives and can answer
    chat.py      Answer -> the data that the conversation shows
    pane.py      Talk -> the data that player and transcript show
    markdown.py  Answer -> Markdown for the clipboard
    media.py     recordings, by talk id, in ranges
    security.py  headers of every response; Host and Origin of every request
    static/      what runs in the browser: desk.js wires the parts, each of which is a file

Text of talks, questions and models reaches the browser as JSON and is shown with `textContent` alone: it is never
parsed as HTML, Markdown or template on its way.
"""
