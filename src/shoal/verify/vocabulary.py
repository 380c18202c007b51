"""Our own words: those of the sentences, statements and pages that go with a release, numbers among them."""

from __future__ import annotations

_WORDS = """
0 0.9 1 1.5 100 12px 14px 15px 16px 18px 1b1b1b 1px 24px 26px 2px 4px 5 50 6g 6px 8 90 95 980px a about above
accepted accordingly achieve acknowledged against align alike all alone alpha an and anew anonymous another answers
any anybody anything anywhere appear apple are arial as asked assignment at attack attacker attacks attested
attribute auto average away b back background baseline be behind being belongs between body border both bottom
bounds breach bucketised but by c called calls can cannot carried categorical cdf cell cells certain charset check
choose cl claimed claims class classes close closeness code coded codes collapse collected color column columns
combination commonest complete completely condensed confidence confident content control could count counted
counterfeit counterfeits counting counts covers csv d data date dated dates day days ddd default defined derive
derives device did differ different differential discloses distance distinct diverse diversity doctype does domain
drawn drop e each earlier else en endfor endif ends entropy entry eps equal eval every everybody everything evidence
exact exactly extremes f3f5f7 fails few fewer fff file finding folder font for free frequency from g gap gaps
general generalised generally given gives go graded group groups gt guard guards guess guessed guesses guessing h1
h2 had half has have here hi hide hides hierarchical hierarchy highest hints history hold holds homogeneity how html
identifier identifiers identity if impossible in included inf input instead intersected interval intervals intruder
invariance invariant inverted is it item its jinja join joined json k kept key kind kl knowledge known knows l label
lacks lang language last leaf learning least leaves left leftovers len length less level li lies lifted likeliest
likelihood likely limit limited limits link linkage linked links list lists lo look looked loop lowest lt m made
manifest mapping margin matching max maximum may mean measure measured median member members membership meta
microaggregated middle missing mode model models months more most moved moves must naive name names nearest needs
neutral never no nobody nodes noise non none not nothing null number numbers numeric object of often on one only or
order ordered ordinal original other out outside over overflow overlapping own p pa padding pairs parameter
parameters parents part path pattern patterns people percent permuted person personalised perturbation perturbed
policy possible posterior pp privacy probability promised protect protected pseudonym pseudonymised publication
publish published publisher q qi quasi ra randomised range rank raw re read readable reads rechecked record records
recovered recovers recursive redraw redrawn relative release released releases relinking remove rename repeat
repeats representative representatives rest rev right rises roboto role root rounds row rows s same sample sans say
says scipy scored secret secrets sees segoe sensitive sentence serif serve set sets several share shares shift
shifted shifting shoal shuffled similar simple simply single size smallest so solid some somebody something sorting
source span spans spread stable stand stands star starred statement still style suppress suppressed sure swapped
system t table tables taken target td telling templates text texts th than that the their theirs them there they
things this those through throughout title to together token tokens too top tr trajectories trajectory true twice
two type u ui ul unchanged unique uniqueness unit unknown unmodelled up utf utility v valid value values variance
variational vector verdict verdicts verified verify version vertical viewport vouched w warning was way were what
whatever when where whether which who whoever whole whose width with within without words worst would wrap y years
you
"""
OURS = frozenset(_WORDS.split())
