package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	initName        = "istio-init"
	captureVariable = "TEST_CAPTURE" // in proxyMetadata: captures the traffic of the pod
	trafficPrefix   = "traffic.sidecar.istio.io/"
	modeAnnotation  = "sidecar.istio.io/interceptionMode"
)

// readInterception returns the arguments of istio-iptables for the annotations of a pod, with the defaults of Istio's
// values, or nil if the pod opts out. Like Istio, it fails for a list that it cannot parse.
func readInterception(annotations object) ([]any, error) {
	lists := []struct {
		flag, name, fallback string
		valid                func(string) error
	}{
		{"-i", "includeOutboundIPRanges", "*", orAll(checkRanges)},
		{"-x", "excludeOutboundIPRanges", "", checkRanges},
		{"-b", "includeInboundPorts", "*", orAll(checkPorts)},
		{"-d", "excludeInboundPorts", "", checkPorts},
		{"-o", "excludeOutboundPorts", "", checkPorts},
		{"-c", "excludeInterfaces", "", func(string) error { return nil }},
	}
	arguments := []any{"istio-iptables"}
	for _, entry := range lists {
		value, set := annotations[trafficPrefix+entry.name].(string)
		if !set {
			value = entry.fallback
		}
		if err := entry.valid(value); err != nil {
			return nil, fmt.Errorf("%s%s invalid: %w", trafficPrefix, entry.name, err)
		}
		if entry.name == "excludeInboundPorts" { // the proxy's own ports are never captured
			value = strings.Trim(value+",15090,15021,15020", ",")
		}
		arguments = append(arguments, entry.flag, value)
	}
	switch mode := text(annotations, modeAnnotation); mode {
	case "", "REDIRECT", "TPROXY":
		return arguments, nil
	case "NONE":
		return nil, nil
	default:
		return nil, fmt.Errorf("interceptionMode invalid, use REDIRECT,TPROXY,NONE: %s", mode)
	}
}

func orAll(check func(string) error) func(string) error {
	return func(list string) error {
		if list == "*" {
			return nil
		}
		return check(list)
	}
}

func checkRanges(list string) error {
	if list == "" {
		return nil
	}
	for _, item := range strings.Split(list, ",") {
		if _, _, err := net.ParseCIDR(item); err != nil {
			return err
		}
	}
	return nil
}

func checkPorts(list string) error {
	if list = strings.TrimSpace(list); list == "" {
		return nil
	}
	for _, item := range strings.Split(list, ",") {
		if _, err := strconv.ParseUint(strings.TrimSpace(item), 10, 16); err != nil {
			return err
		}
	}
	return nil
}

// initContainer returns the container that writes the rules.
func (config injector) initContainer(arguments []any) object {
	return object{
		"name":            initName,
		"image":           config.image,
		"imagePullPolicy": "Never",
		"args":            arguments,
		"resources":       object{"requests": object{"cpu": "10m", "memory": "40Mi"}, "limits": object{"cpu": "2", "memory": "1Gi"}},
		"securityContext": object{
			"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": false, "runAsNonRoot": false,
			"runAsUser": 0, "runAsGroup": 0,
			"capabilities": object{"add": []any{"NET_ADMIN", "NET_RAW"}, "drop": []any{"ALL"}},
		},
	}
}

// meshCertificate returns a certificate that all proxies present and trust, and its key. There is no istiod that would
// issue one for each workload.
func meshCertificate() (certificate, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "trainmesh test mesh"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(240 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	issued, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return block("CERTIFICATE", issued), block("PRIVATE KEY", encoded), nil
}
