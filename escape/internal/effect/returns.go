package effect

// AlwaysFails reports whether the error that a function returns is never nil, by its full name.
func AlwaysFails(name string) bool { return name == "errors.New" || name == "fmt.Errorf" }
