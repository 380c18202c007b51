"""What a researcher states of a coded release, read, checked on the release itself, and only then turned back.

``reading`` makes statements of texts, ``checking`` holds them against the released table, ``trivial`` finds those that
say no more than how often a code occurs, ``asking`` decides. None of these sees a secret, so that nothing they refuse
can tell one; ``answering`` alone does, and turns back what was accepted.
"""
