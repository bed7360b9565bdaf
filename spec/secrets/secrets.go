// Package secrets knows by their names the files that hold passwords, keys or tokens as a rule. It is the one list of them: an index
// leaves them out, and a publish refuses them.
package secrets

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// Named reports whether the file at p holds secrets as a rule, by its name and by the directories above. p has slashes, may be
// absolute, and need not exist. Upper and lower case are the same, and an older copy beside a file (.bak, .old, ~) is like it.
//
//   - .env, .env.NAME and NAME.env, but for .env.example, .env.sample, .env.template and .env.dist
//   - private keys and stores of keys, by the names and extensions that programs give them
//   - what tools keep credentials in, and histories of shells
//   - everything in .ssh, .gnupg and the like, but for known_hosts and what ends with .pub
//
// What only sometimes holds a secret (config.toml, settings.json) is no such name.
func Named(p string) bool {
	p = strings.ToLower(p)
	dir, base := path.Split("/" + p)
	for {
		older := base
		for _, end := range []string{"~", ".bak", ".backup", ".old", ".orig", ".save", ".swp"} {
			older = strings.TrimSuffix(older, end)
		}
		if older == base || older == "" {
			break
		}
		base = older
	}
	if strings.HasSuffix(base, ".pub") || base == "known_hosts" || base == "authorized_keys" {
		return base == "authorized_keys" && within(dir, ".ssh")
	}
	if env, ok := strings.CutPrefix(base, ".env"); ok && (env == "" || env[0] == '.') {
		switch env {
		case ".example", ".sample", ".template", ".dist":
			return false
		}
		return true
	}
	if names()[base] || strings.HasPrefix(base, ".") && strings.HasSuffix(base, "_history") {
		return true
	}
	for _, above := range places(base) {
		if strings.HasSuffix(dir, "/"+above+"/") {
			return true
		}
	}
	if Directory(dir) {
		return true
	}
	if i := strings.LastIndexByte(base, '.'); i >= 0 && extensions()[base[i:]] {
		return true
	}
	return shaped(base)
}

// shaped reports whether a name is like those that programs make up: a key for a host, an account for a service.
func shaped(base string) bool {
	switch {
	case strings.HasSuffix(base, "_rsa"), strings.HasSuffix(base, "_dsa"), strings.HasSuffix(base, "_ecdsa"), strings.HasSuffix(base, "_ed25519"):
		return true
	case strings.HasPrefix(base, "ssh_host_") && strings.HasSuffix(base, "_key"):
		return true
	case strings.HasPrefix(base, "id_rsa-"), strings.HasPrefix(base, "id_rsa_"), strings.HasPrefix(base, "id_rsa."),
		strings.HasPrefix(base, "id_ed25519-"), strings.HasPrefix(base, "id_ed25519_"), strings.HasPrefix(base, "id_ed25519."):
		return true
	case strings.HasSuffix(base, "kubeconfig"), strings.HasPrefix(base, "kubeconfig."), strings.Contains(base, ".tfstate."), strings.HasSuffix(base, ".tfvars.json"):
		return true
	case strings.HasPrefix(base, "secrets.") && (strings.HasSuffix(base, ".yaml") || strings.HasSuffix(base, ".yml") || strings.HasSuffix(base, ".json")):
		return true
	case strings.HasSuffix(base, ".json"):
		return strings.HasPrefix(base, "client_secret") || strings.HasPrefix(base, "service-account") || strings.HasPrefix(base, "service_account") ||
			strings.HasSuffix(base, "-service-account.json") || strings.Contains(base, "firebase-adminsdk")
	}
	return false
}

// Directory reports whether dir, with slashes, is one that keys and credentials alone are kept in, or lies in one.
func Directory(dir string) bool {
	dir = "/" + strings.Trim(strings.ToLower(dir), "/") + "/"
	return slices.ContainsFunc(directories, func(name string) bool { return within(dir, name) })
}

// within reports whether the directory dir, which begins and ends with a slash, has an element of that name.
func within(dir, name string) bool { return strings.Contains(dir, "/"+name+"/") }

// directories are those that hold keys and credentials alone, with slashes.
var directories = []string{
	".ssh", ".gnupg", ".password-store", ".local/share/keyrings", "library/keychains", ".config/gcloud", ".config/op", ".aws/sso", ".aws/cli",
	".config/sops", ".config/rclone", ".config/hub", ".step/secrets", ".mozilla", ".config/google-chrome", ".config/chromium", ".electrum", ".config/keybase",
}

// set is made when it is first asked for: most starts of skl never do.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}

var names = set(`
	id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk id_xmss
	_netrc .npmrc .pypirc pgpass.conf .my.cnf .mylogin.cnf .htpasswd .git-credentials .dockercfg .s3cfg .boto .passwd-s3fs .vault-token
	.terraformrc terraform.rc credentials.tfrc.json .fetchmailrc .msmtprc .smbcredentials .databrickscfg .sentryclirc .renviron .ftpconfig .dev.vars
	.lesshst .viminfo .esmtprc .rhosts .cvspass .mailrc .credentials .credentials.json .token .claude.json
	credentials credentials.json credentials.db credentials.toml credentials.xml application_default_credentials.json access_tokens.db accesstokens.json
	kubeconfig secrets.yaml secrets.yml secrets.json secrets.toml secrets.ini secrets.properties service-account.json service_account.json
	token.json oauth_creds.json msal_token_cache.json msal_token_cache.bin service_principal_entries.json local.settings.json
	wallet.dat key3.db key4.db logins.json ngrok.yml
`)

// places are the directories in which a name says something that it does not say elsewhere.
func places(base string) []string {
	switch base {
	case "config":
		return []string{".kube", ".aws", ".oci", ".snowsql"}
	case "config.json":
		return []string{".docker", ".config/netlify", ".cf", ".minikube"}
	case "auth.json":
		return []string{".codex", ".composer", ".config/composer", "containers", ".config/containers", ".local/share/opencode"}
	case "hosts.yml":
		return []string{".config/gh"}
	case "hosts.json", "apps.json":
		return []string{".config/github-copilot"}
	case "config.yml":
		return []string{".fly", ".travis", ".config/glab-cli"}
	case "config.yaml":
		return []string{".config/doctl", ".config/hcloud"}
	case "cli.toml":
		return []string{".config/hcloud"}
	case "settings.xml", "settings-security.xml":
		return []string{".m2"}
	case "gradle.properties":
		return []string{".gradle"}
	case "sitemanager.xml", "recentservers.xml":
		return []string{".config/filezilla", "filezilla"}
	case "sftp.json":
		return []string{".vscode"}
	case "cookies":
		return []string{".config"}
	case "shadow", "gshadow":
		return []string{"etc"}
	}
	return nil
}

var extensions = set(`.pem .key .p8 .p12 .pfx .pkcs12 .jks .keystore .bks .ppk .kdb .kdbx .tfstate .tfvars .env .ovpn .agekey .keychain .keychain-db .netrc .pgpass .secret .secrets`)
