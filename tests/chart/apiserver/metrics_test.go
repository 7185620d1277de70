// Package apiserver compares the metrics of the apiserver that the chart's alerts and dashboard use with those that Kubernetes
// records for calls of webhooks. An alert on a series or a label that does not exist never fires.
package apiserver

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Files with expressions, and the minimum number of series and labels that each uses.
var files = map[string]int{
	"../../../charts/trainmesh/files/alerts.yaml":    5,
	"../../../charts/trainmesh/files/dashboard.json": 1,
	"../../../docs/operations.md":                    3,
}

// A series with the matchers of its selector, or the common prefix of several, which ends with `_*`.
var selector = regexp.MustCompile(`(apiserver_[a-z_]+[a-z])(?:\{([^}]*)\})?(_\*)?`)

// The label of a matcher; quotes are escaped in JSON.
var label = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)\\?"`)

func TestSeriesAndLabelsExist(t *testing.T) {
	exported := exported(t)
	for file, minimum := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for _, match := range selector.FindAllStringSubmatch(string(text), -1) {
			if match[3] != "" {
				continue
			}
			labels, exists := exported[match[1]]
			if !exists {
				t.Errorf("%s: Kubernetes has no series %s", file, match[1])
			}
			used++
			for _, matcher := range label.FindAllStringSubmatch(match[2], -1) {
				used++
				if !labels[matcher[1]] && matcher[1] != "cluster" {
					t.Errorf("%s: %s has no label %s", file, match[1], matcher[1])
				}
			}
		}
		if used < minimum {
			t.Errorf("%s uses only %d series and labels", file, used)
		}
	}
}

// The alert on rejected calls selects this error type: the webhook gave no valid answer, rather than denied the request.
func TestErrorTypeOfFailedCalls(t *testing.T) {
	text, err := os.ReadFile("../../../charts/trainmesh/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if matcher := `error_type="` + string(metrics.WebhookRejectionCallingWebhookError) + `"`; !strings.Contains(string(text), matcher) {
		t.Errorf("no alert selects %s", matcher)
	}
}

// exported returns the labels of each series that the apiserver records for calls of webhooks.
func exported(t *testing.T) map[string]map[string]bool {
	ctx := context.Background()
	attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "", schema.GroupVersionResource{}, "",
		admission.Create, &runtime.Unknown{}, false, nil)
	metrics.Metrics.ObserveWebhook(ctx, "inject.trainmesh.dev", 0, true, attributes, "admit", 503)
	metrics.Metrics.ObserveWebhookRejection(ctx, "inject.trainmesh.dev", "admit", "CREATE", metrics.WebhookRejectionCallingWebhookError, 503)
	metrics.Metrics.ObserveWebhookFailOpen(ctx, "inject.trainmesh.dev", "admit")
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	for _, family := range families {
		labels := map[string]bool{}
		for _, series := range family.GetMetric() {
			for _, pair := range series.GetLabel() {
				labels[pair.GetName()] = true
			}
		}
		found[family.GetName()] = labels
		// A histogram has three series.
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			found[family.GetName()+suffix] = labels
		}
	}
	return found
}
