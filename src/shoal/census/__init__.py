"""A synthetic census: invented people for demonstrations, tests and benchmarks.

Nobody in it exists. Names are made of syllables, places are invented, and every figure is drawn from tables
written for this purpose, so that columns depend on each other roughly as they do in real life.
"""
