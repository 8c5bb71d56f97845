"""What verdicts other than "holds" are due to, in a sentence or two each."""

SELECTION = (
    "Rows are selected on a noisy response: the copies' noise is biased. A large penalty hides that; settings chosen "
    "by each method's own error show it."
)
LITTLE = (
    "Where nodes are large enough to see the peaks, or hardly a row lies on them (d = 6), there is little to gain. And "
    "as many oversampled nodes cost far more: at equal cost the classical method is better in more settings (below)."
)
FIRST = "Most of the gain comes with the first copies; further ones add cost and biased noise."
BIASED = (
    "With more copies the slope is flatter, not steeper: what selection on a noisy response adds does not fall with N."
)
PENALISED = (
    "A penalty chosen by the average's own error is far smaller: nodes become rough, and their average is not so flat."
)
ENDS = (
    "Noise alone leaves the slices at both ends less full, and their rows are copied: as published the larger nodes "
    "gain by it; tuned, both errors are far below the noise, and the copies' bias shows."
)
SMALL = "Ways to cut slices differ little beside what they all gain over the classical method, and not always one way."
WHERE_RARE = "It is comparable, or better, only where the observed response is rare."
SMOOTHED = "It is the penalty that does it: tuned, small nodes lose little."
DROPPED = "Downsampling leaves out most rows of the full slices."
RARE_FIRST = "Copies pull every node towards the peaks: the rare region gains, the rest pays."
LARGER = "Nodes are larger by the rare rows they share, and cost grows faster than their size."
COPIES = (
    "Copies are no new observations: rows that nodes share bring the same noise into each of them. Tuned, the "
    "classical fit is rougher, but among oversampled fits the variance grows with N~."
)
REMAINDER = "exp(-3 lambda n / (28 omega^2)) is far from 0 for nodes of this size."
SLICES = "Tuned, some numbers of slices suit a function better than others; a large penalty levels them."
NODES = "As published errors grow with k, and not equally; tuned they change little, as far as few replicates tell."
SHARED = "With more nodes, oversampled ones share more rows: the rare region gains, the rest pays."
