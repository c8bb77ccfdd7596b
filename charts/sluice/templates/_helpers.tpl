{{/* Models are served in this namespace only, so everything lives there. */}}
{{- define "sluice.namespace" -}}
sluice
{{- end }}

{{- define "sluice.image" -}}
{{ printf "%s/%s:%s" .Values.registry .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}

{{/* Of every object. */}}
{{- define "sluice.labels" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: sluice
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Of the objects of a role, given as (dict "root" $ "role" "gateway"). */}}
{{- define "sluice.roleLabels" -}}
{{ include "sluice.labels" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* Of a role's Pods: nothing that changes with every version of the chart. */}}
{{- define "sluice.podLabels" -}}
{{ include "sluice.selector" .role }}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* By which a role's Pods are found; controllers find gateways by it, too. */}}
{{- define "sluice.selector" -}}
sluice.dev/role: {{ . }}
{{- end }}

{{- define "sluice.account" -}}
sluice-{{ . }}
{{- end }}

{{/* What the Pods of all roles have: who they are, where they run, and what they may not do. */}}
{{- define "sluice.podSettings" -}}
{{- $values := index .root.Values .role -}}
serviceAccountName: {{ include "sluice.account" .role }}
enableServiceLinks: false
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selector" $.role | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}

{{/* What all containers have. */}}
{{- define "sluice.containerCore" -}}
{{- $values := index .root.Values .role -}}
image: {{ include "sluice.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the containers of roles have besides: how one sees how they are. */}}
{{- define "sluice.containerSettings" -}}
{{ include "sluice.containerCore" . }}
{{- /* It is ready when it knows the cluster, which takes a while where there is much to know. */}}
startupProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 120
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{/* A new Pod serves before an old one goes. */}}
{{- define "sluice.strategy" -}}
type: RollingUpdate
rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
{{- end }}

{{/* An account without a token in other Pods, and what it is called. */}}
{{- define "sluice.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "sluice.account" .role }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.roleLabels" . | nindent 4 }}
{{- end }}

{{/* Lets a role's account do what its Role says, in the namespace of everything. */}}
{{- define "sluice.roleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "sluice.account" .role }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.roleLabels" . | nindent 4 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ include "sluice.account" .role }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "sluice.account" .role }}, namespace: {{ include "sluice.namespace" .root }} }
{{- end }}

{{- define "sluice.clusterRoleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "sluice.account" .role }}
  labels:
    {{- include "sluice.roleLabels" . | nindent 4 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ include "sluice.account" .role }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "sluice.account" .role }}, namespace: {{ include "sluice.namespace" .root }} }
{{- end }}

{{/*
Draining a node takes the role's Pods one by one. Sluice's own embedded cluster has no such kind and drains nothing; `helm template`
knows the kinds of no cluster, and is for one that has it.
*/}}
{{- define "sluice.disruptionBudget" -}}
{{- $kinds := .root.Capabilities.APIVersions -}}
{{- if or ($kinds.Has "policy/v1/PodDisruptionBudget") (not ($kinds.Has "apps/v1/Deployment")) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .role }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.roleLabels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "sluice.selector" .role | nindent 6 }}
{{- end }}
{{- end }}
