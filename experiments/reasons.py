"""What verdicts other than "holds" are due to, in a sentence or two each."""

SELECTION = (
    "Rows are selected on a noisy response: the copies' noise is biased. A large penalty hides that; settings chosen "
    "by each method's own error show it. Under n^(-2/3), the only way it holds, the classical fits to compare with are "
    "worse than the mean for k = 70 and 110 (below)."
)
LITTLE = (
    "Where hardly a row lies on the peaks (d = 6), there is little to gain, and as published Algorithm 2 is worse than "
    "the mean. The verdict depends on the bandwidth, which the paper does not give: with narrower ones than ours the "
    "claim is true as published (below). And as many oversampled nodes cost far more: at equal cost the classical "
    "method is better in more settings (below)."
)
LARGE_NODES = (
    "Where nodes are large (k = 25) the classical ones see the peaks too, and there is less to gain. Under 1/N "
    "Algorithm 2 is worse at d = 4 on any number of nodes."
)
FIRST = "Most of the gain comes with the first copies; further ones add cost and biased noise."
BIASED = (
    "Under 1/N it is so at d = 4 and 6, but there errors grow with N, and with few copies they grow faster. Elsewhere, "
    "with one exception, the slope is flatter with more copies or cannot be told apart: what selection on a noisy "
    "response adds does not fall with N."
)
PENALISED = (
    "A penalty chosen by the average's own error is far smaller: nodes become rough, and their average is not so flat."
)
ENDS = (
    "Noise alone leaves the slices at both ends less full, and their rows are copied: as published the larger nodes "
    "gain by it; tuned, both errors are far below the noise, and the copies' bias shows. Under n^(-2/3), the only way "
    "it holds, both fits are worse than the mean (below)."
)
SQUARED = (
    "The slices near 0 are several times as full as the others, so copies make 2.5 rows of one: as published the "
    "larger nodes gain by it; tuned, both errors are far below the noise, and the copies' bias shows."
)
SINES = (
    "A sum of sines has thin tails: the slices at both ends are less full, and copies make 1.3 to 1.9 rows of one, the "
    "more the narrower the slices. Nodes are larger by them, and where that matters (d = 4) narrow slices gain."
)
SMALL = "Ways to cut slices differ little beside what they all gain over the classical method, and not always one way."
WHERE_RARE = "It is comparable, or better, only where the observed response is rare."
NARROW = (
    "It is the authors' narrow bandwidth that does it, not the penalty: under 1/N, with two to eight times that "
    "bandwidth the classical error is at most 1.2 times the full fit's (choices_melbourne), and tuned as near. Almost "
    "twice is tested as more than 1.75; under n^(-2/3) it is over five times."
)
DROPPED = (
    "Downsampling leaves out most rows of the full slices. Under 1/N and n^(-2/3) both fits are worse than the mean "
    "(below)."
)
RARE_FIRST = (
    "Copies pull every node towards the peaks: the rare region gains, the rest pays. Nearly all of these splines, "
    "tuned ones too, are worse than the mean (below)."
)
LARGER = "Nodes are larger by the rare rows they share, and cost grows faster than their size."
COPIES = (
    "Copies are no new observations: rows that nodes share bring the same noise into each of them. Tuned, the "
    "classical fit is rougher, but among oversampled fits the variance grows with N~."
)
REMAINDER = "exp(-3 lambda n / (28 omega^2)) is far from 0 for nodes of this size."
SLICES = "Tuned, some numbers of slices suit a function better than others; a large penalty levels them."
NODES = "As published errors grow with k, and not equally; tuned they change little, as far as few replicates tell."
SHARED = "With more nodes, oversampled ones share more rows: the rare region gains, the rest pays."
