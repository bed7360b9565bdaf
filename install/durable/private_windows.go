package durable

// Narrow does nothing: what lies in a profile is the user's own.
func Narrow(string) error { return nil }
