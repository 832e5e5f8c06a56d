"""Separatrix against its peers and against the machine, on generated data.

    python -m benchmarks                      everything, at full size
    python -m benchmarks passes-sparse        one workload; patterns such as 'growth-*' too
    python -m benchmarks --list               the names
    python -m benchmarks --size small         sizes for a quick look
    SEPARATRIX_DATA=folder python -m benchmarks 'real-*'
                                              real text too: ``workloads.real`` says what it needs

    python -m benchmarks.before ../earlier    our own times against those of an earlier checkout

A workload says what is done, on which data (``data``), by whom (``peers``), and how well it must
be done (``contest.Judge``). ``contest.hold`` gives every contestant the first of its settings
that is good enough, times them in turn, and takes ratios within each round; ``report`` prints,
writes JSON and draws. The clock goes around public calls only, ours and theirs.
"""
