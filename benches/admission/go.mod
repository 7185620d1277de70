module trainmesh.test/admission

go 1.26
