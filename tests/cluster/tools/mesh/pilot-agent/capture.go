package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

type object = map[string]any

const apiTypes = "type.googleapis.com/envoy.extensions."

// captureListeners returns the two listeners of a proxy that captures traffic, and their clusters, as YAML to append to
// the bootstrap: Istio's virtual listeners, without HTTP.
//
// Outbound connections go to their original destination, with mTLS if it is a Service of the mesh. Inbound connections
// are terminated if they use mTLS; TEST_CAPTURE decides about plain ones, like the mode of a PeerAuthentication.
func captureListeners() (listeners, clusters string, err error) {
	mode := os.Getenv("TEST_CAPTURE")
	switch mode {
	case "":
		return "", "", nil
	case "STRICT", "PERMISSIVE":
	default:
		return "", "", fmt.Errorf("TEST_CAPTURE is %q: expected STRICT or PERMISSIVE", mode)
	}
	mutual, err := mutualDestinations()
	if err != nil {
		log.Printf("no Service of the mesh is known: %v", err)
	}
	outbound := []object{}
	for _, target := range mutual {
		log.Printf("mTLS to %s:%d", target.address, target.port)
		outbound = append(outbound, object{
			"filter_chain_match": object{
				"prefix_ranges":    []object{{"address_prefix": target.address, "prefix_len": 32}},
				"destination_port": target.port,
			},
			"filters": []object{forward("outbound_mutual", "mutual")},
		})
	}
	inbound := []object{{
		"filter_chain_match": object{"transport_protocol": "tls"},
		"transport_socket":   transport("DownstreamTlsContext", object{"require_client_certificate": true}),
		"filters":            []object{forward("inbound_mutual", "application")},
	}}
	if mode == "PERMISSIVE" {
		inbound = append(inbound, object{
			"filter_chain_match": object{"transport_protocol": "raw_buffer"},
			"filters":            []object{forward("inbound_plain", "application")},
		})
	}
	original := listenerFilter("original_dst", "OriginalDst")
	virtualOutbound := listener("outbound", outboundPort, []object{original}, outbound)
	virtualOutbound["default_filter_chain"] = object{"filters": []object{forward("outbound_plain", "plain")}}
	virtualInbound := listener("inbound", inboundPort, []object{original, listenerFilter("tls_inspector", "TlsInspector")}, inbound)
	// The address by which the rules recognize connections of Envoy to the application.
	application := cluster("application")
	application["upstream_bind_config"] = object{"source_address": object{"address": "127.0.0.6", "port_value": 0}}
	encrypted := cluster("mutual")
	encrypted["transport_socket"] = transport("UpstreamTlsContext", object{})
	if listeners, err = encode(virtualOutbound, virtualInbound); err != nil {
		return "", "", err
	}
	clusters, err = encode(cluster("plain"), encrypted, application)
	return listeners, clusters, err
}

// encode returns the items of a YAML list, each as JSON.
func encode(items ...object) (string, error) {
	text := ""
	for _, item := range items {
		encoded, err := json.Marshal(item)
		if err != nil {
			return "", err
		}
		text += "  - " + string(encoded) + "\n"
	}
	return text, nil
}

func listener(name string, port int, filters, chains []object) object {
	return object{
		"name":             name,
		"address":          object{"socket_address": object{"address": "0.0.0.0", "port_value": port}},
		"listener_filters": filters,
		"filter_chains":    chains,
	}
}

func listenerFilter(name, kind string) object {
	return object{
		"name":         "envoy.filters.listener." + name,
		"typed_config": object{"@type": apiTypes + "filters.listener." + name + ".v3." + kind},
	}
}

// forward returns a filter that connects to the original destination. Its statistics start with tcp.NAME.
func forward(name, cluster string) object {
	return object{
		"name":         "envoy.filters.network.tcp_proxy",
		"typed_config": object{"@type": apiTypes + "filters.network.tcp_proxy.v3.TcpProxy", "stat_prefix": name, "cluster": cluster},
	}
}

func cluster(name string) object {
	return object{"name": name, "type": "ORIGINAL_DST", "lb_policy": "CLUSTER_PROVIDED", "connect_timeout": "5s"}
}

// transport returns a transport socket with the certificate of the mesh, which all proxies share.
func transport(kind string, extra object) object {
	text := func(name string) object { return object{"inline_string": os.Getenv(name)} }
	context := object{
		"@type": apiTypes + "transport_sockets.tls.v3." + kind,
		"common_tls_context": object{
			"tls_certificates":   []object{{"certificate_chain": text("TEST_MESH_CERTIFICATE"), "private_key": text("TEST_MESH_KEY")}},
			"validation_context": object{"trusted_ca": text("TEST_MESH_CERTIFICATE")},
		},
	}
	for key, value := range extra {
		context[key] = value
	}
	return object{"name": "envoy.transport_sockets.tls", "typed_config": context}
}
