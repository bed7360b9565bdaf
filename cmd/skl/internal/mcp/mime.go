package mcp

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// mimeTypes are the types of files by their ending. They are the same on every machine, unlike those of package mime.
var mimeTypes = map[string]string{
	".bash": "text/x-shellscript",
	".c":    "text/x-c",
	".css":  "text/css",
	".csv":  "text/csv",
	".gif":  "image/gif",
	".go":   "text/x-go",
	".gz":   "application/gzip",
	".htm":  "text/html",
	".html": "text/html",
	".jpeg": "image/jpeg",
	".jpg":  "image/jpeg",
	".js":   "text/javascript",
	".json": "application/json",
	".md":   "text/markdown",
	".mjs":  "text/javascript",
	".mp3":  "audio/mpeg",
	".mp4":  "video/mp4",
	".pdf":  "application/pdf",
	".png":  "image/png",
	".py":   "text/x-python",
	".r":    "text/x-r",
	".rb":   "text/x-ruby",
	".sh":   "text/x-shellscript",
	".svg":  "image/svg+xml",
	".tar":  "application/x-tar",
	".toml": "application/toml",
	".ts":   "text/x-typescript",
	".wasm": "application/wasm",
	".wav":  "audio/wav",
	".webp": "image/webp",
	".xml":  "application/xml",
	".yaml": "application/yaml",
	".yml":  "application/yaml",
	".zip":  "application/zip",
}

// mimeType is the type of a file.
func mimeType(name string, data []byte) string {
	if t, ok := mimeTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	if isText(data) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// isText reports whether data can be the text of a message.
func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }
