package files

import "strings"

// Secret says that a file of this name holds passwords or keys as a rule: it is left out whatever .gitignore says.
//
//   - .env, .env.NAME and NAME.env, but for .env.example, .env.sample, .env.template and .env.dist
//   - keys: id_rsa, id_dsa, id_ecdsa, id_ed25519; *.pem, *.key, *.p12, *.pfx, *.jks, *.keystore, *.ppk, *.kdbx
//   - credentials of tools: .netrc, _netrc, .npmrc, .pypirc, .pgpass, .my.cnf, .htpasswd, .git-credentials, .dockercfg,
//     credentials, credentials.json, application_default_credentials.json, kubeconfig,
//     secrets.yaml, secrets.yml, secrets.json, secrets.toml, service-account.json, *.tfstate, *.tfvars
//
// Upper and lower case are the same.
func Secret(name string) bool {
	name = strings.ToLower(name)
	if env, ok := strings.CutPrefix(name, ".env"); ok && (env == "" || env[0] == '.') {
		switch env {
		case ".example", ".sample", ".template", ".dist":
			return false
		}
		return true
	}
	switch name {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg",
		"credentials", "credentials.json", "kubeconfig", "secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml", "application_default_credentials.json", "service-account.json":
		return true
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	switch name[dot:] {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".tfstate", ".tfvars", ".env":
		return true
	}
	return false
}
