# SPDX-License-Identifier: MIT
# Writes every_field.onnx (needs the onnx package, 1.12 or later).
import onnx, numpy as np
from onnx import helper as h, TensorProto as T, numpy_helper as nh
rng=np.random.default_rng(1)
def g(name, depth):
    nodes=[h.make_node('Add',['x','w_%d'%depth],['s%d'%depth],name='add%d'%depth)]
    out='s%d'%depth
    if depth:
        nodes.append(h.make_node('If',['c'],['r%d'%depth],name='if%d'%depth,then_branch=g('then%d'%depth,depth-1),else_branch=g('else%d'%depth,depth-1)))
        out='r%d'%depth
    return h.make_graph(nodes,name,[],[h.make_tensor_value_info(out,T.FLOAT,['N',3])],initializer=[nh.from_array(rng.random((1,3)).astype('f4'),'w_%d'%depth)],doc_string='branch')
all_attrs=h.make_node('Everything',['x','','c'],['e','','f'],name='every',domain='weft.test',
  a_float=0.1,an_int=-7,a_string=b'nul\0inside',floats=[1.5,-2.25],ints=[1,-1,2**62],strings=['a','','b\0c'],
  a_tensor=nh.from_array(np.arange(6,dtype='i8').reshape(2,3),'t'),
  tensors=[nh.from_array(np.zeros(2,'f4'))],graphs=[g('g0',0),g('g1',0)],
  a_type=h.make_tensor_type_proto(T.INT64,['M']),types=[h.make_tensor_type_proto(T.INT64,None)])
all_attrs.doc_string='all kinds'
sp=h.make_sparse_tensor(h.make_tensor('sparse_w',T.FLOAT,[2],[1.,2.]),h.make_tensor('i',T.INT64,[2],[0,4]),[5])
all_attrs.attribute.append(h.make_attribute('sparse',sp))
inits=[]
for name,ty,vals in [('f32',T.FLOAT,[1.5,-2.]),('i32',T.INT32,[-1,2]),('i64',T.INT64,[-1,2**40]),('f64',T.DOUBLE,[.1,-.2]),('u64',T.UINT64,[1,2**63]),('u32',T.UINT32,[1,2**32-1]),
   ('u8',T.UINT8,[0,255]),('bool',T.BOOL,[0,1]),('f16',T.FLOAT16,[1.5,-2.]),('c64',T.COMPLEX64,[1+2j,3-4j]),('c128',T.COMPLEX128,[1+2j,3-4j])]:
    inits.append(h.make_tensor('typed_'+name,ty,[2],vals))
inits.append(h.make_tensor('strings',T.STRING,[2],[b'one',b'']))
inits.append(h.make_tensor('empty',T.FLOAT,[0,7],[]))
inits.append(h.make_tensor('scalar',T.INT64,[],[42]))
s=T(name='stripped',data_type=T.FLOAT,dims=[64,64],doc_string='stripped'); inits.append(s)
e=T(name='external',data_type=T.FLOAT,dims=[2],data_location=T.EXTERNAL)
for k,v in [('location','nowhere.bin'),('offset','4096'),('length','8')]:
    x=e.external_data.add(); x.key=k; x.value=v
inits.append(e)
ins=[h.make_tensor_value_info('x',T.FLOAT,['N',3],doc_string='in'),h.make_tensor_value_info('c',T.BOOL,[]),
     h.make_value_info('seq',h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT,[None,2]))),h.make_tensor_value_info('norank',T.FLOAT,None)]
f=h.make_function('weft.test','Everything',['x','y','c'],['e','z','f'],
   [h.make_node('Identity',['x'],['e']),h.make_node('Constant',[],['z']),h.make_node('Identity',['c'],['f'])],[h.make_opsetid('',15)],['a_float','an_int'])
ra=onnx.AttributeProto(name='value_float',ref_attr_name='a_float',type=onnx.AttributeProto.FLOAT); f.node[1].attribute.append(ra); f.doc_string='fn'
top=g('top',2)
top.node.append(all_attrs); top.initializer.extend(inits); top.input.extend(ins); top.sparse_initializer.append(sp)
top.value_info.append(h.make_tensor_value_info('s2',T.FLOAT,['N',3]))
m=h.make_model(top,producer_name='weft tests',producer_version='1',doc_string='every field of an ONNX document',model_version=-3,domain='org.weft',functions=[f],opset_imports=[h.make_opsetid('',15),h.make_opsetid('weft.test',1)])
h.set_model_props(m,{'key':'value','empty':''})
onnx.save(m,'every_field.onnx')
