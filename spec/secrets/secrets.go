// Package secrets knows by their names the files that hold passwords, keys or tokens as a rule. It is the one list of them: an index
// leaves them out, and a publish refuses them.
package secrets

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Named reports whether the file at p holds secrets as a rule, by its name and by the directories above. p has slashes, may be
// absolute, and need not exist. Upper and lower case are the same, and a copy beside a file (.bak, .old, ~, "copy", " (1)") is like it.
//
//   - .env, .env.NAME, NAME.env and env.STAGE, but for .env.example, .env.sample, .env.template and .env.dist
//   - private keys and stores of keys, by the names and extensions that programs give them
//   - what tools keep credentials in, and histories of shells
//   - data called secrets, passwords or token (passwords.txt, secret.json); programs and pages of such names are not meant (token.go, tokens.md),
//     nor what holds words and shapes instead (locales/en/auth.json, templates/secret.yaml)
//   - everything in .ssh, .gnupg and the like, but for known_hosts and what ends with .pub
//
// Names that hold a secret only sometimes (config.toml, settings.json) are not matched.
func Named(p string) bool {
	p = strings.ToLower(p)
	dir, base := path.Split("/" + p)
	for {
		older := original(base)
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
	return shaped(base) || data(dir, base)
}

// copied are the names that desktops give to a copy: "x copy 2.json", "x - copy.json", "x (1).json", "copy of x.json".
var copied = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:copy of )?(.+?)(?: copy(?: \d+)?| - copy(?: \(\d+\))?| \((?:\d+|copy|another copy)\))?(\.[a-z0-9]+)?$`)
})

// original is the name of what base is a copy of.
func original(base string) string {
	if !strings.Contains(base, " ") {
		return base
	}
	return copied().ReplaceAllString(base, "$1$2")
}

// data reports whether base is called like secrets themselves, and is data rather than a program, a page or words of a language.
func data(dir, base string) bool {
	dot := strings.LastIndexByte(base, '.')
	if dot <= 0 {
		return false
	}
	stem, kind := base[:dot], base[dot+1:]
	switch stem {
	case "secret", "secrets", "credentials", "creds", "passwords", "passwd":
		return dataKinds()[kind] && !patterns(dir)
	case "vault", "ansible-vault":
		return (kind == "yml" || kind == "yaml") && !patterns(dir)
	case "password", "token", "apikey", "api_key", "api-key":
		return kind == "txt"
	case "auth":
		return kind == "json" && !patterns(dir)
	case "env":
		return stages()[kind]
	}
	switch kind {
	case "txt":
		return strings.HasSuffix(stem, "_token") || strings.HasSuffix(stem, "-token") || strings.HasSuffix(stem, "_api_key") || strings.HasSuffix(stem, "-api-key")
	case "json":
		cloud, what, _ := strings.Cut(strings.ReplaceAll(stem, "_", "-"), "-")
		return clouds()[cloud] && (what == "key" || what == "keyfile" || what == "credentials" || what == "creds" || strings.HasSuffix(what, "-key"))
	}
	return false
}

// patterns reports whether dir, or one of the two above, holds words of a language, templates or shapes of data: files there are called
// after secrets and have none.
func patterns(dir string) bool {
	elements := strings.Split(strings.Trim(dir, "/"), "/")
	return slices.ContainsFunc(elements[max(0, len(elements)-3):], func(e string) bool { return patternDirectories()[e] })
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
	.envrc .yarnrc.yml nuget.config rclone.conf .rclone.conf azureprofile.json .vault_pass .vault_password vault_pass.txt .vault_pass.txt
	wallet.dat key3.db key4.db logins.json ngrok.yml
`)

// places are the directories in which a name says something that it does not say elsewhere.
func places(base string) []string {
	switch base {
	case "config":
		return []string{".kube", ".aws", ".oci", ".snowsql", ".git"} // .git: the token of a checkout
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

// dataKinds are extensions of files that hold values alone.
var dataKinds = set(`json yaml yml toml ini txt csv properties conf cfg xml`)

// stages are those that programs have settings for, and the extension that a file manager adds.
var stages = set(`production prod staging stage development dev local live txt`)

var clouds = set(`gcp gcloud google gke firebase sa aws azure`)

var patternDirectories = set(`
	locales locale i18n l10n lang langs languages translations messages templates schemas schema src app lib test tests testdata fixtures mocks __mocks__ docs
`)
