"""The pipeline on Spark beside the same jobs written by hand, in one run on two cores.

    python -m benchmarks.pipeline [--quick] [--json FILE] [--plot FILE.png] [PART …]

The parts are ``columns``, ``route``, ``run``, ``latency`` and ``command``; all of them by default.
"""
