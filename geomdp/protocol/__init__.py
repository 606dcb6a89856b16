"""Messages, transcripts and parties: how two testers talk."""
