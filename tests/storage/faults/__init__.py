"""Faults that are injected for real: signals, frozen and killed servers, full disks, forks. What
people do to files is in tests/storage/test_data_faults.py, damage in test_study_storage.py,
test_campaign_damage.py and test_campaign_writing.py beside it.
"""
