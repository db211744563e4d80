"""One measure a file, each with its definition and source. Pure: positions, times and words in, numbers out.

A *hit* or a *citation* is a `Moment`; a hit is right when it shares a cue with a gold span of the right talk. All
shares run from 0 to 1, higher is better unless the docstring says otherwise.
"""
