module trainmesh.test/benches/cluster

go 1.26
