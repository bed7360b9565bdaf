package child

import (
	"slices"
	"strings"
)

// loopback is what no proxy may be asked for: the tools are there.
const loopback = "127.0.0.1,localhost"

// Keep returns the variables of environ that a program of an agent needs to
// start, to find its account and to reach the network, and those that more
// takes. Later variables of a name replace earlier ones, as in [os/exec].
// NO_PROXY gets the loopback addresses, because the tools live there.
func Keep(environ []string, more func(name string) bool) []string {
	var kept []string
	proxied := map[string]string{"NO_PROXY": loopback, "no_proxy": loopback}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		if _, is := proxied[name]; is {
			if value != "" {
				proxied[name] = value + "," + loopback
			}
			continue
		}
		if needed(name) || more != nil && more(name) {
			kept = append(kept, entry)
		}
	}
	return append(kept, "NO_PROXY="+proxied["NO_PROXY"], "no_proxy="+proxied["no_proxy"])
}

// needed says whether every program needs the variable.
func needed(name string) bool {
	upper := strings.ToUpper(name) // Windows does not tell them apart, proxies come in both
	return strings.HasPrefix(upper, "LC_") || strings.HasPrefix(upper, "XDG_") || slices.Contains([]string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME",
		"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	}, upper)
}
