module trainmesh.dev/tests/oracle

go 1.26

require (
	gopkg.in/evanphx/json-patch.v4 v4.13.0
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.3 // indirect
