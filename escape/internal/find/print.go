package find

// String returns the category of a kind.
func (k Kind) String() string {
	return [...]string{"", "unfreed", "leak", "double-free", "use-after-free", "keepalive", "late"}[k]
}

// String returns on which occasion something is found, and in which state.
func (fd Finding) String() string {
	s := [...]string{"dead", "read", "freed", "deferred", "returned", "kept", "dropped", "counted", "begun",
		"skipped", "some", "held", "half", "empty"}[fd.On] + " where it is " + fd.State.String()
	if fd.On != Dead && fd.State != 0 && !fd.Must && fd.To == Nobody {
		s += " on some ways"
	}
	if fd.To != Nobody {
		s += [...]string{"", ": the receiver's", ": a goroutine's", ": a pool's", ": freed by a view"}[fd.To]
	}
	return s
}
