// Package alerts evaluates the chart's alerts with Prometheus' own engine, once a minute, against generated series.
// promtool would do the same, but depends on an unpublished module.
package alerts

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

const file = "../../../charts/trainmesh/files/alerts.yaml"

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// One firing and one quiet case for each alert, with series in the syntax of `load 1m`: start, step, times.
var cases = []struct {
	alert, series string
	after         time.Duration
	// Text expected in the description; empty if the alert must not fire.
	description string
}{
	// The controller counts once a minute; each of the two pods holds four accelerators.
	{"TrainmeshAcceleratorsIdle", `trainmesh_gpu_seconds_wasted_total{cause="peers_waiting",pod="trainmesh-controller-1"} 0+480x60`,
		30 * time.Minute, "8 accelerators are idle because of peers_waiting"},
	{"TrainmeshAcceleratorsIdle", `trainmesh_gpu_seconds_wasted_total{cause="peers_waiting"} 0+420x60`, 30 * time.Minute, ""},
	{"TrainmeshAcceleratorsIdle", `trainmesh_gpu_seconds_wasted_total{cause="sidecar_running"} 0x20 4800x40`, 30 * time.Minute, ""},
	{"TrainmeshReviewsFail", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+98x60
		trainmesh_admission_reviews_total{outcome="internal"} 0+2x60`, 30 * time.Minute, "2%"},
	{"TrainmeshReviewsFail", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+9x60
		trainmesh_admission_reviews_total{outcome="withheld"} 0+1x60`, 30 * time.Minute, ""},
	{"TrainmeshReviewsFail", `trainmesh_admission_reviews_total{outcome="internal"} 0x60`, 30 * time.Minute, ""},
	{"TrainmeshReviewsFail", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+9x60
		trainmesh_admission_reviews_total{outcome="too_large"} 0+50x60
		trainmesh_admission_reviews_total{outcome="annotations_too_large"} 0+50x60
		trainmesh_admission_reviews_total{outcome="malformed"} 0+50x60`, 30 * time.Minute, ""},
	// A flood of invalid requests must not hide failures.
	{"TrainmeshReviewsFail", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+9x60
		trainmesh_admission_reviews_total{outcome="panicked"} 0+1x60
		trainmesh_admission_reviews_total{outcome="malformed"} 0+6000x60`, 30 * time.Minute, "10%"},
	{"TrainmeshReviewsInvalid", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+9x60
		trainmesh_admission_reviews_total{outcome="too_large"} 0+1x60`, 50 * time.Minute, "10%"},
	{"TrainmeshReviewsInvalid", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+99x60
		trainmesh_admission_reviews_total{outcome="too_large"} 0+1x60`, 50 * time.Minute, ""},
	// Few calls: one failure is a large share of them.
	{"TrainmeshReviewsFail", `
		trainmesh_admission_reviews_total{outcome="patched"} 0+1x60
		trainmesh_admission_reviews_total{outcome="deadline"} 0x14 1x6 2x39`, 25 * time.Minute, ""},
	{"TrainmeshReviewsInvalid", `
		trainmesh_admission_reviews_total{outcome="patched"} 0x60
		trainmesh_admission_reviews_total{outcome="too_large"} 0x10 1x7 2x7 3x7 4x7 5x20`, 42 * time.Minute, ""},
	{"TrainmeshReviewsInvalid", `other 0x60`, 50 * time.Minute, ""},
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+90x60`, 30 * time.Minute, "10%"},
	// The first failure creates the series.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="audit.trainmesh.dev",type="admit"} _x10 1+10x50
		apiserver_admission_webhook_request_total{name="audit.trainmesh.dev",code="503"} _x10 1+10x50`, 30 * time.Minute, "100%"},
	// One burst before the first scrape of the series, as of a gang.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} _x20 64x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} _x20 64x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+4x60`, 28 * time.Minute, "%"},
	// Prometheus starts after failures of the past.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} _x20 64x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} _x20 64x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} _x20 2000+4x40`, 28 * time.Minute, ""},
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="413"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+1x60`, 30 * time.Minute, ""},
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="other.example.com",type="admit"} 0+10x60
		apiserver_admission_webhook_request_total{name="other.example.com",code="503"} 0+10x60`, 30 * time.Minute, ""},
	// Few calls: one failure is a large share of them.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0x20 1x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0x20 1x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+1x60`, 28 * time.Minute, ""},
	// Failures that are the caller's do not count.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0x20 6x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0x20 1x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="413"} 0x20 5x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0x60`, 28 * time.Minute, ""},
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0x20 5x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0x20 5x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+1x60`, 28 * time.Minute, "%"},
	{"TrainmeshFailsOpen", `apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+10x60`, 30 * time.Minute, ""},
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="503"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503",rejected="true"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200",rejected="false"} 0+90x60`, 30 * time.Minute, "10%"},
	// The first failure creates the series, and controllers retry.
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="500"} _x10 1+1x50
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="500",rejected="true"} _x10 1+1x50`, 30 * time.Minute, "100%"},
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="503"} _x20 64x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503",rejected="true"} _x20 64x40`, 28 * time.Minute, "100%"},
	// With failurePolicy Ignore, nothing is rejected.
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503",rejected="false"} 0+10x60`, 30 * time.Minute, ""},
	// A pod above the limits, which a tenant can create.
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="413"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="413",rejected="true"} 0+10x60`, 30 * time.Minute, ""},
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="other.example.com",error_type="calling_webhook_error",rejection_code="503"} 0+10x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200",rejected="false"} 0+10x60`, 30 * time.Minute, ""},
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="503"} 0+1x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200",rejected="false"} 0+99x60`, 30 * time.Minute, ""},
	// Few calls: one failure is a large share of them.
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="503"} 0x20 1x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503",rejected="true"} 0x20 1x40
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200",rejected="false"} 0+1x60`, 28 * time.Minute, ""},
	{"TrainmeshApiserverUnmonitored", `trainmesh_admission_reviews_total{outcome="patched"} 1x60`, 40 * time.Minute, "Scrape the apiserver"},
	{"TrainmeshApiserverUnmonitored", `
		trainmesh_admission_reviews_total{outcome="patched"} 1x60
		apiserver_admission_webhook_request_total{name="other.example.com",code="200"} 1x60`, 40 * time.Minute, "Scrape the apiserver"},
	{"TrainmeshApiserverUnmonitored", `
		trainmesh_admission_reviews_total{outcome="patched"} 1x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 1x60`, 40 * time.Minute, ""},
	// Nothing was called yet.
	{"TrainmeshApiserverUnmonitored", `other 0x60`, 40 * time.Minute, ""},
	{"TrainmeshReplicaDown", `
		up{pod="trainmesh-webhook-a"} 1x60
		up{pod="trainmesh-webhook-b"} 0x60
		up{pod="train-0"} 0x60`, 30 * time.Minute, "trainmesh-webhook-b"},
	{"TrainmeshReplicaDown", `up{pod="trainmesh-controller-a"} 0x60`, 30 * time.Minute, "trainmesh-controller-a"},
	{"TrainmeshReplicaDown", `up{pod="trainmesh-webhook-a"} 0x10 1x50`, 30 * time.Minute, ""},
	{"TrainmeshWebhookDown", `other 0x60`, 20 * time.Minute, "metricsFrom"},
	{"TrainmeshWebhookDown", `trainmesh_build_info{pod="trainmesh-controller-a"} 1x60`, 20 * time.Minute, "metricsFrom"},
	{"TrainmeshWebhookDown", `trainmesh_build_info{pod="trainmesh-webhook-a"} 1x60`, 20 * time.Minute, ""},
	{"TrainmeshReviewsSlow", `
		trainmesh_admission_duration_seconds_bucket{le="0.5"} 0+90x60
		trainmesh_admission_duration_seconds_bucket{le="1.0"} 0+100x60
		trainmesh_admission_duration_seconds_bucket{le="+Inf"} 0+100x60`, 30 * time.Minute, "takes more than 500ms"},
	{"TrainmeshReviewsSlow", `
		trainmesh_admission_duration_seconds_bucket{le="0.01"} 0+100x60
		trainmesh_admission_duration_seconds_bucket{le="+Inf"} 0+100x60`, 30 * time.Minute, ""},
	{"TrainmeshPatchWithheld", `trainmesh_patch_verification_failures_total 0x20 1x40`, 30 * time.Minute, "240 KiB"},
	{"TrainmeshPatchWithheld", `trainmesh_patch_verification_failures_total _x20 1x40`, 30 * time.Minute, "240 KiB"},
	{"TrainmeshPatchWithheld", `trainmesh_patch_verification_failures_total 1x120`, 90 * time.Minute, ""},
	{"TrainmeshHandshakesFail", `
		trainmesh_tls_handshake_failures_total{pod="w",reason="certificate_rejected"} 0+60x60
		trainmesh_admission_duration_seconds_count{pod="w"} 0x60`, 30 * time.Minute, "certificate of w on 100%"},
	{"TrainmeshHandshakesFail", `
		trainmesh_tls_handshake_failures_total{pod="w",reason="certificate_rejected"} 0+10x60
		trainmesh_admission_duration_seconds_count{pod="w"} 0+60x60`, 30 * time.Minute, ""},
	// Few calls: one failure is a large share of them.
	{"TrainmeshHandshakesFail", `
		trainmesh_tls_handshake_failures_total{pod="w",reason="certificate_rejected"} 0x14 1x6 2x39
		trainmesh_admission_duration_seconds_count{pod="w"} 0x60`, 25 * time.Minute, ""},
	// Invalid requests without TLS.
	{"TrainmeshHandshakesFail", `
		trainmesh_tls_handshake_failures_total{pod="w",reason="certificate_rejected"} 0x60
		trainmesh_tls_handshake_failures_total{pod="w",reason="not_tls"} 0+6000x60
		trainmesh_admission_duration_seconds_count{pod="w"} 0+60x60`, 30 * time.Minute, ""},
	{"TrainmeshHandshakesFail", `
		trainmesh_tls_handshake_failures_total{pod="w",reason="certificate_rejected"} 0x60
		trainmesh_admission_duration_seconds_count{pod="w"} 0x60`, 30 * time.Minute, ""},
	{"TrainmeshCertificateMissing", `
		trainmesh_build_info{pod="trainmesh-webhook-a"} 1x60
		trainmesh_build_info{pod="trainmesh-webhook-b"} 1x60
		trainmesh_certificate_expiry_timestamp_seconds{pod="trainmesh-webhook-a",cert="leaf"} 864000x60`, 20 * time.Minute, "trainmesh-webhook-b"},
	{"TrainmeshCertificateMissing", `
		trainmesh_build_info{pod="trainmesh-webhook-a"} 1x60
		trainmesh_build_info{pod="trainmesh-controller-a"} 1x60
		trainmesh_certificate_expiry_timestamp_seconds{pod="trainmesh-webhook-a",cert="leaf"} 864000x60`, 20 * time.Minute, ""},
	// 90 days, with 14 and 16 left.
	{"TrainmeshCertificateExpires", `
		trainmesh_certificate_not_before_timestamp_seconds{cert="leaf"} -6566400x60
		trainmesh_certificate_expiry_timestamp_seconds{cert="leaf"} 1209600x60`, 30 * time.Minute, "15.53% of the lifetime of the serving certificate"},
	{"TrainmeshCertificateExpires", `
		trainmesh_certificate_not_before_timestamp_seconds{cert="leaf"} -6393600x60
		trainmesh_certificate_expiry_timestamp_seconds{cert="leaf"} 1382400x60`, 30 * time.Minute, ""},
	// A year, with 50 days left.
	{"TrainmeshCertificateExpires", `
		trainmesh_certificate_not_before_timestamp_seconds{cert="ca"} -27216000x60
		trainmesh_certificate_expiry_timestamp_seconds{cert="ca"} 4320000x60`, 30 * time.Minute, "of the lifetime of the CA"},
	// A day: renewal is due with 8 hours left, which was less than any threshold in days.
	{"TrainmeshCertificateExpires", `
		trainmesh_certificate_not_before_timestamp_seconds{cert="leaf"} -57600x60
		trainmesh_certificate_expiry_timestamp_seconds{cert="leaf"} 28800x60`, 30 * time.Minute, ""},
	{"TrainmeshCertificateExpires", `
		trainmesh_certificate_not_before_timestamp_seconds{cert="leaf"} -75600x60
		trainmesh_certificate_expiry_timestamp_seconds{cert="leaf"} 10800x60`, 30 * time.Minute, "of the serving certificate"},
	{"TrainmeshNoLeader", `
		trainmesh_leader{pod="a"} 0x60
		trainmesh_leader{pod="b"} 0x60`, 10 * time.Minute, "Lease"},
	{"TrainmeshNoLeader", `
		trainmesh_leader{pod="a"} 0x60
		trainmesh_leader{pod="b"} 1x60`, 10 * time.Minute, ""},
	{"TrainmeshNoLeader", `other 0x60`, 10 * time.Minute, "Lease"},
	{"TrainmeshProxiesHang", `trainmesh_pods{state="given-up"} 3x60`, 30 * time.Minute, "3 pods"},
	{"TrainmeshProxiesHang", `trainmesh_pods{state="waiting"} 3x60`, 30 * time.Minute, ""},
	{"TrainmeshForbidden", `trainmesh_proxy_end_total{method="envoy-admin",result="forbidden"} 0+1x60`, 20 * time.Minute, "envoy-admin"},
	{"TrainmeshForbidden", `trainmesh_proxy_end_total{method="envoy-admin",result="sent"} 0+1x60`, 20 * time.Minute, ""},
	{"TrainmeshForbidden", `trainmesh_proxy_end_total{method="exec",result="forbidden"} _x20 1x40`, 30 * time.Minute, "exec"},
	{"TrainmeshForbidden", `trainmesh_proxy_end_total{method="exec",result="forbidden"} 1x90`, 60 * time.Minute, ""},
	{"TrainmeshPrematureEnd", `trainmesh_premature_end_total 0x20 1x40`, 30 * time.Minute, "events PrematureEnd"},
	{"TrainmeshPrematureEnd", `trainmesh_premature_end_total _x20 1x40`, 30 * time.Minute, "events PrematureEnd"},
	{"TrainmeshPrematureEnd", `trainmesh_premature_end_total 0x60`, 30 * time.Minute, ""},
	{"TrainmeshPodsMissed", `trainmesh_missed_pods_total 0x20 2x40`, 30 * time.Minute, "PodMissedByWebhook"},
	{"TrainmeshPodsMissed", `trainmesh_missed_pods_total _x20 1x40`, 30 * time.Minute, "PodMissedByWebhook"},
	{"TrainmeshPodsMissed", `trainmesh_missed_pods_total 2x120`, 90 * time.Minute, ""},
	{"TrainmeshFabricMixed", `
		trainmesh_fabric_mixed_gangs{pod="a"} 0x60
		trainmesh_fabric_mixed_gangs{pod="b"} 2x60`, 30 * time.Minute, "2 jobs"},
	{"TrainmeshFabricMixed", `trainmesh_fabric_mixed_gangs 0x60`, 30 * time.Minute, ""},
	// Only the leader counts them.
	{"TrainmeshGangGroupsMissing", `
		trainmesh_gang_groups_missing{pod="a"} 0x60
		trainmesh_gang_groups_missing{pod="b"} 2x60`, 30 * time.Minute, "2 gangs"},
	// The controller creates the PodGroups after an outage.
	{"TrainmeshGangGroupsMissing", `trainmesh_gang_groups_missing 2x4 0x56`, 30 * time.Minute, ""},
	{"TrainmeshGangGroupsMissing", `trainmesh_gang_groups_missing 0x60`, 30 * time.Minute, ""},
	{"TrainmeshConfigRefused", `trainmesh_config_reloads_total{result="refused"} 0x20 1x40`, 30 * time.Minute, "validate"},
	{"TrainmeshConfigRefused", `trainmesh_config_reloads_total{result="refused"} _x20 1x40`, 30 * time.Minute, "validate"},
	{"TrainmeshConfigRefused", `trainmesh_config_reloads_total{result="refused"} 1x90`, 60 * time.Minute, ""},
	{"TrainmeshConfigRefused", `trainmesh_config_reloads_total{result="applied"} 0+1x60`, 30 * time.Minute, ""},
	// Prometheus did not scrape for two hours: what it counted before is not new.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{name="inject.trainmesh.dev",type="admit"} 0+10x30 _x120 300x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+10x30 _x120 300x60`, 158 * time.Minute, ""},
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="503"} 0+10x30 _x120 300x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+10x30 _x120 300x60`, 158 * time.Minute, ""},
	{"TrainmeshPatchWithheld", `trainmesh_patch_verification_failures_total 1x30 _x120 1x60`, 160 * time.Minute, ""},
	{"TrainmeshForbidden", `trainmesh_proxy_end_total{method="exec",result="forbidden"} 1x30 _x120 1x60`, 160 * time.Minute, ""},
	{"TrainmeshPrematureEnd", `trainmesh_premature_end_total 1x30 _x120 1x60`, 160 * time.Minute, ""},
	{"TrainmeshPodsMissed", `trainmesh_missed_pods_total 2x30 _x120 2x60`, 160 * time.Minute, ""},
	{"TrainmeshConfigRefused", `trainmesh_config_reloads_total{result="refused"} 1x30 _x120 1x60`, 160 * time.Minute, ""},
	// A failure after the gap is one.
	{"TrainmeshPodsMissed", `trainmesh_missed_pods_total 2x30 _x120 2x5 3x60`, 170 * time.Minute, "PodMissedByWebhook"},
	// One of two clusters: the other one must not hide it.
	{"TrainmeshFailsOpen", `
		apiserver_admission_webhook_fail_open_count{cluster="a",name="inject.trainmesh.dev",type="admit"} 0+10x60
		apiserver_admission_webhook_request_total{cluster="a",name="inject.trainmesh.dev",code="503"} 0+10x60
		apiserver_admission_webhook_request_total{cluster="b",name="inject.trainmesh.dev",code="200"} 0+900x60`, 30 * time.Minute, "100%"},
	{"TrainmeshFailsClosed", `
		apiserver_admission_webhook_rejection_count{cluster="a",name="inject.trainmesh.dev",error_type="calling_webhook_error",rejection_code="503"} 0+10x60
		apiserver_admission_webhook_request_total{cluster="a",name="inject.trainmesh.dev",code="503"} 0+10x60
		apiserver_admission_webhook_request_total{cluster="b",name="inject.trainmesh.dev",code="200"} 0+900x60`, 30 * time.Minute, "100%"},
	{"TrainmeshApiserverUnmonitored", `
		trainmesh_admission_reviews_total{cluster="a",outcome="patched"} 1x60
		trainmesh_admission_reviews_total{cluster="b",outcome="patched"} 1x60
		apiserver_admission_webhook_request_total{cluster="b",name="inject.trainmesh.dev",code="200"} 1x60`, 40 * time.Minute, "Scrape the apiserver"},
	{"TrainmeshWebhookDown", `
		trainmesh_build_info{cluster="a",pod="trainmesh-webhook-a"} 1x10 _x50
		trainmesh_build_info{cluster="b",pod="trainmesh-webhook-b"} 1x60`, 40 * time.Minute, "metricsFrom"},
	{"TrainmeshWebhookDown", `trainmesh_build_info{pod="trainmesh-webhook-a"} 1x10 _x50`, 40 * time.Minute, "metricsFrom"},
	// A cluster that was removed is forgotten after a day.
	{"TrainmeshWebhookDown", `
		trainmesh_build_info{cluster="a",pod="trainmesh-webhook-a"} 1x10 _x1990
		trainmesh_build_info{cluster="b",pod="trainmesh-webhook-b"} 1x2000`, 26 * time.Hour, ""},
	{"TrainmeshReviewsFail", `
		trainmesh_admission_reviews_total{cluster="a",outcome="internal"} 0+2x60
		trainmesh_admission_reviews_total{cluster="b",outcome="patched"} 0+900x60`, 30 * time.Minute, "100%"},
	{"TrainmeshReviewsSlow", `
		trainmesh_admission_duration_seconds_bucket{cluster="a",le="0.5"} 0x60
		trainmesh_admission_duration_seconds_bucket{cluster="a",le="1.0"} 0+1x60
		trainmesh_admission_duration_seconds_bucket{cluster="a",le="+Inf"} 0+1x60
		trainmesh_admission_duration_seconds_bucket{cluster="b",le="0.5"} 0+900x60
		trainmesh_admission_duration_seconds_bucket{cluster="b",le="+Inf"} 0+900x60`, 30 * time.Minute, "takes more than 500ms"},
	{"TrainmeshCertificateMissing", `
		trainmesh_build_info{cluster="a",namespace="n",pod="trainmesh-webhook-0"} 1x60
		trainmesh_build_info{cluster="b",namespace="n",pod="trainmesh-webhook-0"} 1x60
		trainmesh_certificate_expiry_timestamp_seconds{cluster="a",namespace="n",pod="trainmesh-webhook-0",cert="leaf"} 864000x60`, 20 * time.Minute, "not ready"},
	{"TrainmeshNoLeader", `
		trainmesh_leader{cluster="a",pod="a"} 0x60
		trainmesh_leader{cluster="b",pod="b"} 1x60`, 10 * time.Minute, "Lease"},
	{"TrainmeshNoLeader", `
		trainmesh_leader{cluster="a",pod="a"} 1x10 _x50
		trainmesh_leader{cluster="b",pod="b"} 1x60`, 40 * time.Minute, "Lease"},
	{"TrainmeshProxiesHang", `
		trainmesh_pods{cluster="a",state="given-up"} 3x60
		trainmesh_pods{cluster="b",state="given-up"} 0x60`, 30 * time.Minute, "3 pods"},
	{"TrainmeshFabricMixed", `
		trainmesh_fabric_mixed_gangs{cluster="a"} 0x60
		trainmesh_fabric_mixed_gangs{cluster="b"} 2x60`, 30 * time.Minute, "2 jobs"},
	// An outage: two percent of the calls fail.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+2x90
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+98x90`, 80 * time.Minute, "2% of the calls failed within hours; the objective permits 0.1% in a month"},
	// A slow loss: eight per mille for hours.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+8x400
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+992x400`, 390 * time.Minute, "0.8% of the calls"},
	// Within the objective.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+1x400
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+999x400`, 390 * time.Minute, ""},
	// The same after hours without a failure, which dilute the longer window.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0x330 20+20x70
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+980x400`, 395 * time.Minute, "% of the calls"},
	// It is over: the short windows end the alert.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0+5x60 300x60
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+95x120`, 100 * time.Minute, ""},
	// Rejected as input, which tenants cause.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="413"} 0+50x90
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0+50x90`, 80 * time.Minute, ""},
	// Few calls: one failure is a large share of them.
	{"TrainmeshAdmissionBudgetBurns", `
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="503"} 0x74 1x15
		apiserver_admission_webhook_request_total{name="inject.trainmesh.dev",code="200"} 0x90`, 80 * time.Minute, ""},
	{"TrainmeshLatencyBudgetBurns", `
		trainmesh_admission_duration_seconds_bucket{le="0.1"} 0+80x90
		trainmesh_admission_duration_seconds_count 0+100x90`, 80 * time.Minute, "20% of the reviews took more than 100 ms within hours; the objective permits 1% in a month"},
	{"TrainmeshLatencyBudgetBurns", `
		trainmesh_admission_duration_seconds_bucket{le="0.1"} 0+99x400
		trainmesh_admission_duration_seconds_count 0+100x400`, 390 * time.Minute, ""},
	{"TrainmeshTerminationBudgetBurns", `
		trainmesh_proxy_end_delay_seconds_bucket{le="5.0"} 0+92x400
		trainmesh_proxy_end_delay_seconds_count 0+100x400`, 390 * time.Minute, "within hours; the objective permits 1% in a month"},
	{"TrainmeshTerminationBudgetBurns", `
		trainmesh_proxy_end_delay_seconds_bucket{le="5.0"} 0+100x90
		trainmesh_proxy_end_delay_seconds_count 0+100x90`, 80 * time.Minute, ""},
}

// A Prometheus may evaluate the metrics of several clusters: one must not hide another.
func TestEveryAggregationKeepsTheCluster(t *testing.T) {
	for _, alert := range read(t) {
		expression, err := parser.ParseExpr(alert.Expr)
		if err != nil {
			t.Fatalf("%s: %v", alert.Alert, err)
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if aggregate, ok := node.(*parser.AggregateExpr); ok && !slices.Contains(aggregate.Grouping, "cluster") {
				t.Errorf("%s: %s", alert.Alert, aggregate)
			}
			if binary, ok := node.(*parser.BinaryExpr); ok && binary.VectorMatching != nil && binary.VectorMatching.On &&
				!slices.Contains(binary.VectorMatching.MatchingLabels, "cluster") {
				t.Errorf("%s: %s", alert.Alert, binary)
			}
			return nil
		})
	}
}

// Critical alerts page somebody: no tenant must be able to trigger one.
var critical = []string{"TrainmeshFailsClosed", "TrainmeshFailsOpen", "TrainmeshNoLeader", "TrainmeshPrematureEnd", "TrainmeshWebhookDown"}

func TestCritical(t *testing.T) {
	var found []string
	for _, alert := range read(t) {
		if alert.Labels["severity"] == "critical" {
			found = append(found, alert.Alert)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, critical) {
		t.Errorf("critical alerts are %q, expected %q", found, critical)
	}
}

func TestAlerts(t *testing.T) {
	alerts := read(t)
	tested := map[string]bool{}
	for _, c := range cases {
		tested[c.alert] = true
		name := c.alert + "/fires"
		if c.description == "" {
			name = c.alert + "/does not fire"
		}
		t.Run(name, func(t *testing.T) {
			found := slices.IndexFunc(alerts, func(a rule) bool { return a.Alert == c.alert })
			if found < 0 {
				t.Fatalf("no alert %s in %s", c.alert, file)
			}
			descriptions := firing(t, alerts[found], c.series, c.after)
			if c.description == "" && len(descriptions) > 0 {
				t.Errorf("the alert fires: %q", descriptions)
			}
			if c.description != "" && (len(descriptions) != 1 || !strings.Contains(descriptions[0], c.description)) {
				t.Errorf("descriptions are %q, expected one with %q", descriptions, c.description)
			}
		})
	}
	for _, alert := range alerts {
		if !tested[alert.Alert] {
			t.Errorf("%s has no test case", alert.Alert)
		}
	}
}

func read(t *testing.T) []rule {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &groups); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// firing returns the descriptions of the alerts that fire after this time.
func firing(t *testing.T, alert rule, series string, after time.Duration) []string {
	storage := promqltest.LoadedStorage(t, "load 1m\n"+strings.TrimSpace(series))
	t.Cleanup(func() { _ = storage.Close() })
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 100_000)
	expression, err := parser.ParseExpr(alert.Expr)
	if err != nil {
		t.Fatal(err)
	}
	hold := time.Duration(0)
	if alert.For != "" {
		parsed, err := model.ParseDuration(alert.For)
		if err != nil {
			t.Fatal(err)
		}
		hold = time.Duration(parsed)
	}
	evaluated := rules.NewAlertingRule(alert.Alert, expression, hold, 0, labels.FromMap(alert.Labels),
		labels.FromMap(alert.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	query := rules.EngineQueryFunc(engine, storage)
	for at := time.Duration(0); at <= after; at += time.Minute {
		if _, err := evaluated.Eval(context.Background(), 0, time.Unix(0, 0).Add(at), query, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	var descriptions []string
	for _, active := range evaluated.ActiveAlerts() {
		if active.State == rules.StateFiring {
			descriptions = append(descriptions, active.Annotations.Get("description"))
		}
	}
	return descriptions
}
