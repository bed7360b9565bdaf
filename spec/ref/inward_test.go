package ref

import "testing"

func TestInward(t *testing.T) {
	for _, host := range []string{"localhost", "LOCALHOST:80", "a.localhost", "localhost.", "127.0.0.1", "127.1", "127.0.0.1:5080", "[::1]:80", "0.0.0.0", "10.1.2.3",
		"172.16.0.1", "192.168.1.1:443", "169.254.169.254", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "100.64.0.1", "224.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "10.0.0.0x1", "",
		"ip6-localhost", "ip6-loopback:22", "redis", "REDIS.", "box.local", "box.local.:80", "metadata.google.internal", "nas.lan", "git.home.arpa", "git.intranet", "git.corp", "pi.home",
		"localhost.localdomain", "[::127.0.0.1]", "[::7f00:1]:443", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[::ffff:0:10.0.0.1]", "[fec0::1]", "[fe80::1%25eth0]",
		"0.0.0.1"} {
		if !Inward(host) {
			t.Errorf("Inward(%q) is false", host)
		}
	}
	for _, host := range []string{"example.com", "10.example.com", "8.8.8.8", "[2001:db8::1]:443", "localhost.example", "git.example:8443", "0x7f.example",
		"local.example", "internal.example", "mycorp.example", "home.example", "[64:ff9b::808:808]", "[2002:808:808::1]", "[2606:4700::1111]", "xn--bcher-kva.example"} {
		if Inward(host) {
			t.Errorf("Inward(%q) is true", host)
		}
	}
	for text, want := range map[string]bool{"file:///etc": true, "https://git.example/a": false, "http://127.0.0.1:1/a": true, "ssh://git@10.0.0.1/a": true, "not a url": true, "": true} {
		if InwardURL(text) != want {
			t.Errorf("InwardURL(%q) is %v", text, !want)
		}
	}
}
