module trainmesh.test/release/tool

go 1.26.0
