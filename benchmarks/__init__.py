"""Benchmarks of separatrix against other libraries and the hardware, on generated data.

    python -m benchmarks                      everything, at full size
    python -m benchmarks passes-sparse        one workload; patterns such as 'growth-*' too
    python -m benchmarks --list               the names
    python -m benchmarks --size small         sizes for a quick look
    SEPARATRIX_DATA=folder python -m benchmarks 'real-*'
                                              real text too: ``workloads.real`` says what it needs

    python -m benchmarks.before ../earlier    times of separatrix compared with an earlier checkout

A workload says what is done, on which data (``data``), by whom (``peers``), and how well it must be
done (``contest.Judge``). ``contest.hold`` chooses for every contestant the first of its settings
that is good enough, runs all of them in turn, and takes ratios within each round; ``report``
prints, writes JSON and draws. Only public calls are timed.
"""
