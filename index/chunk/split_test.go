package chunk

var cases = []struct{ name, path, src, want string }{}
