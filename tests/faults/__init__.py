"""Faults that are injected for real: signals, frozen and killed servers, full disks, forks. What
people do to files is in tests/test_data_faults.py, damage in tests/test_study_storage.py,
tests/test_campaign_damage.py and tests/test_campaign_writing.py.
"""
