"""Reproduction of the paper's figures and tables (Jourdan, Mutny, Kirschner, Krause, ALT 2021)."""

# every experiment by its name on the command line; here, so that the list is shown without imports
TITLES = {
    "figure1": "Figure 1: uniform matroid, k = 3, sigma = 0.1",
    "uniform-matroid-k2": "Uniform matroid, k = 2, sigma = 0.035",
    "gcb-pe": "GCB-PE on the uniform matroid, k = 3, sigma = 0.1",
    "grid": "Grid network, sigma = 0.075",
    "line2": "Line network, n_n = 2, sigma = 0.2",
    "line3": "Line network, n_n = 3, sigma = 0.2",
    "almost-all": "Almost all sets, sigma = 0.25",
    "options": "Tracking, learners per answer, bonus, threshold: uniform matroid, k = 3",
    "learners": "The comparison of the learners, measured: support, cost per round, regret and "
    "its bounds",
    "theorem3": "Theorem 3 with all its constants: uniform matroid, k = 3",
    "psi": "psi, the geometric constant of LLOO: almost all sets and small trees",
    "correlated": "Correlated Gaussian values: uniform matroid, k = 3, d = 5",
    "elimination": "Discarding answers for good, in every round and in phases: uniform matroid, "
    "k = 3",
    "quantities": "The central quantities of the instances, computed, beside the paper's formulas",
}
