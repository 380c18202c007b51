"""Privacy models: each states its condition on a class as rules; kernels compute them, the verifier repeats them."""
