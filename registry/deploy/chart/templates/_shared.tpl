{{- define "labels" -}}
app.kubernetes.io/name: skl-registry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "config" -}}
registry.toml: |
{{ .Files.Get "registry.toml" | indent 2 }}
{{- end }}

{{- /* What all containers have in common. */ -}}
{{- define "container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: {name: {{ .Values.secret }}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
{{ toYaml .Values.resources | indent 2 }}
volumeMounts:
  - {name: config, mountPath: /etc/skl, readOnly: true}
  - {name: data, mountPath: /data}
  - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "pod" -}}
{{- with .Values.serviceAccount }}
serviceAccountName: {{ . }}
{{- end }}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "scratch" -}}
- {name: data, emptyDir: {sizeLimit: {{ .Values.scratch }}}}
- {name: tmp, emptyDir: {sizeLimit: 1Gi}}
{{- end }}
