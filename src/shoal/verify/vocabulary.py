"""Our own words: those of the sentences, statements and pages that go with a release, numbers among them."""

from __future__ import annotations

_WORDS = """
0 0.9 0b0b0b 1 1.5 100 10pt 12em 12px 14px 15px 16mm 16px 18px 1b1b1b 1px 24px 26px 2px 3b3b3b 4px 5 50 5b5b5b 640px
6g 6px 8 90 95 980px a a4 about above accepted accordingly achieve acknowledged across after again against align
alike all allow allows alone alpha also among an and anew anonymisation anonymity anonymous another answers any
anybody anything anywhere apart appear apple are arial as ask asked assignment at attack attacker attacks attested
attribute auto average avoid away b back background baseline be been behind being belongs between block body border
both bottom bounds breach break bucketised but by c called calls can cannot carried categorical cdf cell cells
certain chance charset check choose cl claimed claims class classes close closeness code coded codes collapse
collected color column columns combination commonest compared complete completely condensed confidence confident
contact content context control controller corrected could count counted counterfeit counterfeits counting counts
covers csv cut d dark data date dated dates day days ddd default defined derive derived derives determines device
did differ different differential discloses display distance distinct diverse diversity divide do doctype does
domain drawn drop e each earlier else en endfor endif ends entropy entry eps equal estimate eval evaluated
evaluation evenly every everybody everything evidence exact exactly extremes f3f5f7 fails few fewer fff file finding
fine finely first folder follow font for free frequency frequent from full g gap gaps general generalised generally
get give given gives go graded group groups gt guard guards guess guessed guesses guessing h1 h2 had half has have
here hi hide hides hierarchical hierarchy highest hints history hold holds homogeneity how html identifier
identifiers identifies identity if impossible in included inf input inside instead intersected interval intervals
intruder invariance invariant inverted is it item items its itself jinja join joined json k kept key kind kl
knowledge known knows l label labels lacks lang language last leaf learning least leave leaves left leftovers len
length less lets level li lies lifted likeliest likelihood likely limit limited limits link linkage linked links
list lists lo long look looked looks loop lower lowest lt m made manifest many mapping margin mark matching max
maximum may mean meaning means measure measured media median medians member members membership meta microaggregated
middle min missing mode model models modes months more most moved moves must naive name names nearest needs neither
neutral never no nobody nodes noise non none not nothing nowrap null number numbers numeric object of often on once
one ones only or order ordered ordinal original other others out outside over overflow overlap overlapping own p pa
padding page pair pairs parameter parameters parents part path pattern patterns people percent permuted person
personalised perturbation perturbed policy possible posterior pp pram prefers prepared print privacy probability
promised protect protected protects pseudonym pseudonymisation pseudonymised publication publish published publisher
purpose q qi quasi ra random randomised range ranges rank rare raw re reached read readable reads reason rechecked
recipients recoded record records recovered recovers recursive redraw redrawn relations relative release released
releases relinking remove rename repeat repeats representative representatives rest rev review right rises roboto
role root rounded rounds row rows s said same sample sans say says scheme scipy scored secret secrets sees segoe
sensitive sentence serif serve set sets several share shares shift shifted shifting shoal shuffled similar simple
simply single size small smaller smallest so solid some somebody something sorting source span spans spread stable
stand stands star starred stars stated statement stay still strata stratified style suppress suppressed sure swapped
system t table tables take taken target tbody td telling tells templates text texts th than that the thead their
theirs them there they things this those through throughout tight title to together token tokens too top tr
trajectories trajectory true twice two type u ui ul unchanged under unique uniqueness unit unknown unmodelled
unusual up use utf utility v valid value values variance variational vector verdict verdicts verified verify version
vertical viewport vouched w warning warnings was way weaker were what whatever when where whether which who whoever
whole whose width wildcard with within without words worst would wrap y years you
"""
OURS = frozenset(_WORDS.split())
