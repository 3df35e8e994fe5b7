{{- define "ciphermote.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "ciphermote.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ciphermote.labels" -}}
{{ include "ciphermote.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "ciphermote.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "ciphermote.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Of a pod with a gateway in it. */}}
{{- define "ciphermote.pod" -}}
serviceAccountName: {{ include "ciphermote.name" . }}
automountServiceAccountToken: false
terminationGracePeriodSeconds: 45
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* Copies what must be readable by its owner alone, which mounted secrets are not: libpq and the gateway refuse them. */}}
{{- define "ciphermote.keys" -}}
- name: keys
  image: {{ include "ciphermote.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  securityContext: {{- include "ciphermote.containerSecurity" . | nindent 4 }}
  command:
    - sh
    - -euc
    - |
      umask 077
      mkdir -p /data/gateway
      cp /secrets/wrap-key/{{ .Values.wrapKeySecret.key }} /data/gateway/wrap.key
      password=$(sed 's/[:\\]/\\&/g' /secrets/database/password)
      printf '%s:%s:*:%s:%s\n' "$DATABASE_HOST" "$DATABASE_PORT" "$DATABASE_USER" "$password" >/keys/pgpass
  env:
    - {name: DATABASE_HOST, value: {{ required "database.host: the name of PostgreSQL's machine" .Values.database.host | quote }}}
    - {name: DATABASE_PORT, value: {{ .Values.database.port | quote }}}
    - {name: DATABASE_USER, value: {{ .Values.database.user | quote }}}
  volumeMounts:
    - {name: data, mountPath: /data}
    - {name: keys, mountPath: /keys}
    - {name: database, mountPath: /secrets/database, readOnly: true}
    - {name: wrap-key, mountPath: /secrets/wrap-key, readOnly: true}
{{- end }}

{{- define "ciphermote.volumes" -}}
- name: data
  emptyDir: {sizeLimit: {{ .Values.dataSize }}}
- name: keys
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
- name: database
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ required "database.passwordSecret.name: the secret with its password" .Values.database.passwordSecret.name }}
          items: [{key: {{ .Values.database.passwordSecret.key }}, path: password}]
      - secret:
          name: {{ required "database.caSecret.name: the secret with the authority of its certificate" .Values.database.caSecret.name }}
          items: [{key: {{ .Values.database.caSecret.key }}, path: ca.crt}]
- name: wrap-key
  secret:
    secretName: {{ required "wrapKeySecret.name: the secret with 32 random bytes" .Values.wrapKeySecret.name }}
    defaultMode: 0440
- name: tls
  secret:
    secretName: {{ required "tls.secretName: the secret with the gateways' certificate" .Values.tls.secretName }}
    defaultMode: 0440
{{- if .Values.store.credentialsSecret.name }}
- name: store
  secret: {secretName: {{ .Values.store.credentialsSecret.name }}, defaultMode: 0440}
{{- end }}
{{- if .Values.broker.enabled }}
- name: broker
  secret:
    secretName: {{ required "broker.passwordSecret.name: the secret with the broker's password" .Values.broker.passwordSecret.name }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* The container of a gateway. broker: where its broker is. */}}
{{- define "ciphermote.gateway" -}}
{{- $broker := .broker }}
{{- with .root }}
- name: gateway
  image: {{ include "ciphermote.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [serve]
  securityContext: {{- include "ciphermote.containerSecurity" . | nindent 4 }}
  env:
    # Below the mounted directory, which is not the user's own.
    - {name: CIPHERMOTE_DATA, value: /data/gateway}
    - {name: CIPHERMOTE_WORKERS, value: {{ .Values.workers | quote }}}
    - name: CIPHERMOTE_DATABASE
      value: {{ printf "postgresql://%s@%s:%v/%s?sslmode=verify-full&sslrootcert=/secrets/database/ca.crt" .Values.database.user .Values.database.host .Values.database.port .Values.database.name | quote }}
    - {name: PGPASSFILE, value: /keys/pgpass}
    - {name: CIPHERMOTE_STORE, value: {{ required "store.url: the bucket and a prefix" .Values.store.url | quote }}}
    {{- with .Values.store.region }}
    - {name: AWS_REGION, value: {{ . | quote }}}
    {{- end }}
    {{- with .Values.store.endpoint }}
    - {name: AWS_ENDPOINT_URL, value: {{ . | quote }}}
    {{- end }}
    {{- if .Values.store.credentialsSecret.name }}
    - {name: {{ hasPrefix "gs://" .Values.store.url | ternary "GOOGLE_APPLICATION_CREDENTIALS" "AWS_SHARED_CREDENTIALS_FILE" }}, value: /secrets/store/{{ .Values.store.credentialsSecret.key }}}
    {{- end }}
    - {name: CIPHERMOTE_CERTIFICATE, value: /secrets/tls/tls.crt}
    - {name: CIPHERMOTE_KEY, value: /secrets/tls/tls.key}
    {{- if .Values.broker.enabled }}
    - {name: CIPHERMOTE_BROKER, value: {{ $broker | default (printf "%s-broker:%v" (include "ciphermote.name" .) .Values.broker.port) | quote }}}
    - {name: CIPHERMOTE_BROKER_PASSWORD, value: /secrets/broker/{{ .Values.broker.passwordSecret.key }}}
    {{- end }}
    {{- with .Values.telemetry.endpoint }}
    - {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }}}
    {{- end }}
  ports:
    - {name: https, containerPort: 8443}
  startupProbe:
    httpGet: {path: /healthz, port: https, scheme: HTTPS}
    periodSeconds: 2
    failureThreshold: 60
  readinessProbe:
    httpGet: {path: /readyz, port: https, scheme: HTTPS}
    periodSeconds: 5
    timeoutSeconds: 8
    failureThreshold: 1
  livenessProbe:
    httpGet: {path: /healthz, port: https, scheme: HTTPS}
    periodSeconds: 10
    timeoutSeconds: 8
    failureThreshold: 6
  lifecycle:
    # Until no service sends anything here any more.
    preStop: {exec: {command: [sleep, "5"]}}
  resources: {{- toYaml .Values.resources | nindent 4 }}
  volumeMounts:
    - {name: data, mountPath: /data}
    - {name: tmp, mountPath: /tmp}
    - {name: keys, mountPath: /keys, readOnly: true}
    - {name: database, mountPath: /secrets/database, readOnly: true}
    - {name: tls, mountPath: /secrets/tls, readOnly: true}
    {{- if .Values.store.credentialsSecret.name }}
    - {name: store, mountPath: /secrets/store, readOnly: true}
    {{- end }}
    {{- if .Values.broker.enabled }}
    - {name: broker, mountPath: /secrets/broker, readOnly: true}
    {{- end }}
{{- end }}
{{- end }}
