// Tokens with as little and as much space between them as can be.

#include<core.p4>
const int q=08;const int r=007;const bit<8>s=8w08;const bit<2>t=2w0d3;const int u=0b1111_0000;const bit<32>v=32w0XFF_ff;const int w=1_000;const bit<8>x=8w0o17;const int y=-1;const int z=- -1;const bit<8> aa=~~8w1;const bool bb=!!true;const int<8>cc=-8s1;const bit<16>dd=8w1++8w2;const bit<8>ee=8w1|+|8w2|-|8w1;const bool ff=1<2&&3>2;const bit<8>gg=true?8w1:2;const bit<8>hh=8w255>>1;const int<4> ii=-4s0b1000; const bit<1> jj=1w1; const bit<64> kk=64w0xFFFF_FFFF_FFFF_FFFF; const bit<8> ll = 8w1+ +8w2- -8w3;
struct G<T>{T t;}typedef G<G<bit<8>>>GG;match_kind{range}
control c(inout bit<8>a,inout bit<8>b,inout GG g){bit<8>d=a>>1;action e(){a=b;}table f{key={a:ternary;b:range;}actions={e;NoAction;}const entries={(0x1&&&0xf,1..3):e;(8w1&&&8w3,8w1..8w3):e();(_,0..0xff):NoAction;(1,_):e;}}apply{a=a<b?a:b;a=a<<1>>1;a>>=1;a<<=2;a+=b;a=a&b|a^~b;if(a>b&&b>=a||a<=b&&!(a!=b)){a=1;}else if(a==b)b=2;else{b=3;}f.apply();switch(a){1:2:{a=3;}default:{}}g.t.t=a;a=a[7:4]++b[3:0];a[3:0]=b[7:4];for(bit<8>i=0;i<3;i+=1){a=i;}for(bit<8>i in 1..3){a=i;}for(bit<8>i in a..b){a=i;}d=(bit<8>)a;d=(bit<8>)-a;d=(bit<8>)(a+b)*2;if((a)>(b)){}if((a)<(b)){}d=a>b?a>>1:b>>2;}}
parser p(packet_in k,inout bit<8>a){state start{transition select(a,a){(1..3,0x10&&&0xf0):accept;(8w5,_):reject;(_,_):accept;}}}
/**/ /***/ //**/
/* // */ const bit<8> mm = 1; // /* not open
/* * ** *** / */ const bit<8> nn = 1; /**
*/
